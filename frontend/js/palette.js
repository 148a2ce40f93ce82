// The palette: a combobox over the server's results, as the ARIA Authoring Practices have it. The focus stays in the field.
import htmx from "htmx.org";

const REMEMBERED = 8;
const PAUSE_MS = 90;
const dialog = document.getElementById("palette");
const form = dialog?.querySelector("form");
const field = dialog?.querySelector("[role=combobox]");
let pause = 0;
let isWaiting = false; // for the results of what stands in the field
let goesToFirst = false; // Enter came before the results

const options = () => [...dialog.querySelectorAll("[role=option]")];
const active = () => dialog.querySelector("[aria-selected=true]");

// What was last opened, as ids alone: names are the server's to tell, to whoever may see them.
function remembered() {
  try {
    return JSON.parse(localStorage.getItem(`levee-recent-${dialog.dataset.owner}`)) ?? [];
  } catch {
    return [];
  }
}

function remember(here) {
  const places = [here, ...remembered().filter((place) => place !== here)].slice(0, REMEMBERED);
  try {
    localStorage.setItem(`levee-recent-${dialog.dataset.owner}`, JSON.stringify(places));
  } catch {
    // A browser that keeps nothing: the palette then begins with the pages.
  }
}

function ask() {
  pause = 0;
  isWaiting = true;
  field.removeAttribute("aria-activedescendant");
  active()?.setAttribute("aria-selected", "false");
  form.querySelectorAll("[name=recent]").forEach((input) => input.remove());
  if (!field.value.trim()) {
    for (const place of remembered()) {
      form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "recent", value: place }));
    }
  }
  htmx.trigger(form, "palette:ask");
}

function activate(option) {
  active()?.setAttribute("aria-selected", "false");
  option.setAttribute("aria-selected", "true");
  option.scrollIntoView({ block: "nearest" });
  field.setAttribute("aria-activedescendant", option.id);
}

function answered() {
  if (pause) {
    return; // this was the answer to what stood there before the last letter
  }
  isWaiting = false;
  const list = document.getElementById("palette-list");
  if (!list) {
    location.reload(); // the answer was another page, which asks for something first
    return;
  }
  const [first] = options();
  document.getElementById("palette-count").textContent = list.dataset.count;
  field.setAttribute("aria-expanded", String(Boolean(first)));
  if (first) {
    activate(first);
  }
  if (goesToFirst) {
    goesToFirst = false;
    enter();
  }
}

// No answer comes: Enter then leads to the page of results.
function failed() {
  if (pause) {
    return; // another question follows
  }
  isWaiting = false;
  if (goesToFirst) {
    goesToFirst = false;
    enter();
  }
}

// What was asked, and an Enter that waits for it, end with the dialog.
function closed() {
  clearTimeout(pause);
  pause = 0;
  isWaiting = false;
  goesToFirst = false;
  htmx.trigger(form, "htmx:abort");
}

function enter() {
  if (isWaiting) {
    goesToFirst = true;
    return;
  }
  const chosen = active();
  if (chosen) {
    chosen.click();
  } else {
    form.submit();
  }
}

function move(step) {
  const all = options();
  if (all.length) {
    const place = all.indexOf(active()) + step;
    activate(all.at(place % all.length));
  }
}

const MOVES = { ArrowDown: () => move(1), ArrowUp: () => move(-1), Enter: enter };

export function openPalette(text = "") {
  if (!dialog || document.querySelector("dialog[open]")) {
    return;
  }
  dialog.showModal();
  field.value = text;
  field.focus();
  goesToFirst = false;
  ask();
}

if (dialog) {
  if (dialog.dataset.here) {
    remember(dialog.dataset.here);
  }
  field.addEventListener("input", () => {
    isWaiting = true;
    goesToFirst = false;
    clearTimeout(pause);
    pause = setTimeout(ask, PAUSE_MS);
  });
  field.addEventListener("keydown", (event) => {
    if (MOVES[event.key] && !event.isComposing) {
      event.preventDefault();
      MOVES[event.key]();
    }
  });
  dialog.addEventListener("htmx:afterSwap", answered);
  for (const fault of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
    dialog.addEventListener(fault, failed);
  }
  dialog.addEventListener("close", closed);
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) {
      dialog.close(); // beside the box, on its backdrop
    }
  });
  // By mouse and by finger the field of the top bar opens the palette; by Tab and Enter it stays a field of its own.
  const top = document.querySelector(".lv-find input[name=q]");
  top?.addEventListener("click", () => openPalette(top.value));
  document.addEventListener("keydown", (event) => {
    const isMac = navigator.userAgent.includes("Mac");
    if (event.key.toLowerCase() === "k" && (isMac ? event.metaKey : event.ctrlKey) && !event.altKey && !event.shiftKey) {
      event.preventDefault();
      openPalette();
    }
  });
}
