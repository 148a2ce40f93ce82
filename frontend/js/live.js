// A form marked data-live is answered bit by bit while it is filled in. An answer to what stood there before would undo what is
// being typed: it is dropped, and the field asks again by itself.
import htmx from "htmx.org";

// What is swapped in works at once: while it settles, by a timer, what is typed or chosen in it would be heard by nobody.
htmx.config.defaultSettleDelay = 0;

document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-live]");
  if (form && event.target.hasAttribute("hx-post")) {
    htmx.trigger(form, "htmx:abort");
  }
});

// What is being answered anew stays until its successor is there, marked as busy; and what takes its place is as high, until there is
// a whole answer again: a half-typed condition has none, and the page would jump up and down while you type.
const heights = new Map();

function isLive(target) {
  return target?.id && target.closest("form[data-live]");
}

document.addEventListener("htmx:beforeRequest", (event) => {
  if (isLive(event.detail.target)) {
    event.detail.target.ariaBusy = "true";
  }
});
document.addEventListener("htmx:afterRequest", (event) => event.detail.target?.removeAttribute("aria-busy"));
document.addEventListener("htmx:beforeSwap", (event) => {
  if (isLive(event.detail.target)) {
    heights.set(event.detail.target.id, event.detail.target.offsetHeight);
  }
});
document.addEventListener("htmx:load", (event) => {
  const height = heights.get(event.target.id);
  if (height && !event.target.querySelector("table")) {
    event.target.style.minHeight = `${height}px`;
  }
});
