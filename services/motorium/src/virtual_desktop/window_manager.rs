//! Configuration of the window manager, icewm: windows, and nothing else.
//!
//! Its defaults start terminals and browsers by keys, menus and buttons. On a virtual desktop that would be a way around
//! the list of applications that may be opened, for the agent and for a page that talks it into a chord.

use std::fs;
use std::io;
use std::path::Path;

/// No task bar that repeats window titles, one workspace, no menu, no key and no command that starts or ends anything.
/// Keys that switch, move and close windows stay.
const PREFERENCES: &str = "\
ShowTaskBar=0
WorkspaceNames=\" 1 \"
ClickToFocus=1
FocusOnMap=1
RaiseOnFocus=1
ShowPopupsAbovePointer=0
ConfirmLogout=0
UseRootButtons=0
DesktopMenuButton=0
DesktopWinListButton=0
DesktopWinMenuButton=0
AutoReloadMenus=0
KeySysAddressBar=\"\"
KeySysDialog=\"\"
KeySysMenu=\"\"
KeySysWinListMenu=\"\"
KeySysWinMenu=\"\"
KeySysWindowList=\"\"
ShowProgramsMenu=0
ShowSettingsMenu=0
ShowFocusModeMenu=0
ShowThemesMenu=0
ShowHelp=0
ShowRun=0
ShowAbout=0
ShowLogoutMenu=0
ShowLogoutSubMenu=0
ShowWindowList=0
AddressBarCommand=\"\"
ClockCommand=\"\"
CPUStatusCommand=\"\"
LockCommand=\"\"
LogoutCommand=\"\"
LogoutCancelCommand=\"\"
MailCommand=\"\"
NetStatusCommand=\"\"
NewMailCommand=\"\"
OpenCommand=\"\"
RebootCommand=\"\"
RunCommand=\"\"
ShutdownCommand=\"\"
SuspendCommand=\"\"
TerminalCommand=\"\"
";

/// Files that icewm would otherwise read from its installation. An empty one replaces them.
const EMPTY_FILES: [&str; 6] = [
    "keys",
    "menu",
    "programs",
    "startup",
    "toolbar",
    "winoptions",
];

/// Writes the configuration into a new folder.
///
/// # Errors
/// If a file cannot be written.
pub(super) fn write(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)?;
    fs::write(folder.join("preferences"), PREFERENCES)?;
    for name in EMPTY_FILES {
        fs::write(folder.join(name), "")?;
    }
    Ok(())
}
