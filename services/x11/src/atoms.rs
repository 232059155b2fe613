//! Atoms of the window manager's properties (EWMH, ICCCM).

x11rb::atom_manager! {
    /// Atoms of the window manager's properties, interned once per connection.
    pub Atoms: AtomsCookie {
        UTF8_STRING,
        WM_PROTOCOLS,
        WM_STATE,
        _NET_ACTIVE_WINDOW,
        _NET_CLIENT_LIST,
        _NET_CLIENT_LIST_STACKING,
        _NET_SUPPORTING_WM_CHECK,
        _NET_WM_NAME,
        _NET_WM_PID,
        _NET_WM_PING,
        _NET_WM_STATE,
        _NET_WM_STATE_HIDDEN,
        _NET_WM_STATE_MODAL,
        _NET_WM_WINDOW_TYPE,
        _NET_WM_WINDOW_TYPE_DIALOG,
    }
}
