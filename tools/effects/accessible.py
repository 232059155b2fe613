"""Accessibility state of programs over AT-SPI.

Takes snapshots of a program's tree (roles, names, texts, carets, values,
states) as ground truth independent of pixels, and finds the boxes of controls.
It performs no actions.
"""

import os

STATES = ("CHECKED", "SELECTED", "FOCUSED", "EXPANDED", "SHOWING", "SENSITIVE", "PRESSED", "ACTIVE")


class Accessible:
    def __init__(self, environment, name):
        os.environ["DISPLAY"] = environment["DISPLAY"]
        os.environ["DBUS_SESSION_BUS_ADDRESS"] = environment["DBUS_SESSION_BUS_ADDRESS"]
        os.environ["XDG_RUNTIME_DIR"] = environment["XDG_RUNTIME_DIR"]
        import gi
        gi.require_version("Atspi", "2.0")
        from gi.repository import Atspi, GLib
        self.atspi, self.loop, self.name = Atspi, GLib.MainContext.default(), name
        Atspi.init()

    def program(self):
        for _ in range(40):
            if not self.loop.iteration(False):
                break
        desktop = self.atspi.get_desktop(0)
        desktop.clear_cache()
        for index in range(desktop.get_child_count()):
            found = desktop.get_child_at_index(index)
            if found and self.name in (found.get_name() or ""):
                found.clear_cache()
                return found
        return None

    def states(self, node):
        held = node.get_state_set()
        return [word for word in STATES if held.contains(getattr(self.atspi.StateType, word))]

    def text(self, node):
        if node.get_text_iface() is None:
            return None
        length = self.atspi.Text.get_character_count(node)
        selection = None
        if self.atspi.Text.get_n_selections(node):
            area = self.atspi.Text.get_selection(node, 0)
            selection = [area.start_offset, area.end_offset]
        return [self.atspi.Text.get_text(node, 0, min(length, 4000)), self.atspi.Text.get_caret_offset(node), selection]

    def value(self, node):
        return self.atspi.Value.get_current_value(node) if node.get_value_iface() is not None else None

    def walk(self, node, depth=0):
        if node is None or depth > 25:
            return
        yield node
        for index in range(min(node.get_child_count(), 200)):
            try:
                child = node.get_child_at_index(index)
            except Exception:
                continue
            if child is not None and (depth < 1 or child.get_state_set().contains(self.atspi.StateType.SHOWING)):
                yield from self.walk(child, depth + 1)

    def snapshot(self):
        """Returns all visible nodes as text; empty if the program is not running."""
        return [str([node.get_role_name(), node.get_name(), self.states(node), self.text(node), self.value(node)])
                for node in self.walk(self.program())]

    def find(self, role, name=None, number=0):
        seen = 0
        for node in self.walk(self.program()):
            try:
                if node.get_role_name() == role and (name is None or name in (node.get_name() or "")):
                    if seen == number:
                        return node
                    seen += 1
            except Exception:
                continue
        raise RuntimeError(f"no {role} named {name}")

    def box(self, role, name=None, number=0):
        area = self.atspi.Component.get_extents(self.find(role, name, number), self.atspi.CoordType.SCREEN)
        return [area.x, area.y, area.x + area.width, area.y + area.height]

    def text_of(self, role, name=None, number=0):
        return self.text(self.find(role, name, number))[0]

    def letter_at(self, role, across, down):
        node = self.find(role)
        area = self.atspi.Component.get_extents(node, self.atspi.CoordType.SCREEN)
        return self.atspi.Text.get_offset_at_point(node, area.x + across, area.y + down, self.atspi.CoordType.SCREEN)
