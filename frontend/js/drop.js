// Menus made of <details class="lv-drop"> close on Escape and on a click elsewhere; data-hotkey names the key that goes to a field.
const opened = () => document.querySelectorAll("details.lv-drop[open]");

document.addEventListener("click", (event) => {
  for (const menu of opened()) {
    if (!menu.contains(event.target)) {
      menu.open = false;
    }
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    for (const menu of opened()) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
    return;
  }
  const typing = event.target.closest("input, textarea, select, [contenteditable]");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  const field = document.querySelector(`[data-hotkey="${CSS.escape(event.key)}"]`);
  if (field && field.checkVisibility()) {
    event.preventDefault();
    field.focus();
  }
});
