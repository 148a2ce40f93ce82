// Single keys. They act neither in fields nor with modifiers, and not at all for a person who turned them off (WCAG 2.1.4).
import htmx from "htmx.org";
import { askFirst } from "./decide.js";
import { openPalette } from "./palette.js";

const PATIENCE_MS = 1500; // between g and the letter after it
const isOn = document.documentElement.dataset.shortcuts === "on";
let began = -Infinity;

function rows() {
  const links = document.querySelectorAll("[data-list] :is(.lv-name, h3 > a)[href]");
  return [...links].filter((link) => link.checkVisibility());
}

function step(by) {
  const all = rows();
  const here = document.activeElement.closest("tr, li");
  const place = all.findIndex((link) => link.closest("tr, li") === here);
  const next = all[place < 0 ? 0 : place + by];
  next?.focus();
}

function showKeys() {
  const dialog = document.getElementById("keys");
  dialog?.showModal();
  const list = document.getElementById("keys-list");
  if (list && !list.children.length) {
    htmx.trigger(list, "keys:ask");
  }
}

const ACTS = {
  "/": () => openPalette(),
  "?": showKeys,
  j: () => step(1),
  k: () => step(-1),
  a: () => askFirst("approve"),
  r: () => askFirst("reject"),
};

function act(event) {
  const link = event.timeStamp - began < PATIENCE_MS ? document.querySelector(`[data-goes="${CSS.escape(event.key)}"]`) : null;
  began = event.key === "g" && !link ? event.timeStamp : -Infinity;
  if (link) {
    link.click();
    return true;
  }
  ACTS[event.key]?.();
  return event.key in ACTS;
}

document.addEventListener("keydown", (event) => {
  // A field of a dialog that has just been closed keeps the focus for a moment.
  const field = event.target.closest("input, textarea, select, [contenteditable], [role=combobox], [role=listbox]");
  const isTyping = field?.checkVisibility();
  const isModified = event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented;
  if (isOn && !isTyping && !isModified && !document.querySelector("dialog[open]") && act(event)) {
    event.preventDefault();
  }
});
