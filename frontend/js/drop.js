// Menus made of <details class="lv-drop"> close on Escape and on a click elsewhere.
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
  }
});
