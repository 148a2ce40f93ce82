// A form marked data-live is answered bit by bit while it is filled in. An answer to what stood there before would undo what is
// being typed: it is dropped, and the field asks again by itself.
import htmx from "htmx.org";

document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-live]");
  if (form && event.target.hasAttribute("hx-post")) {
    htmx.trigger(form, "htmx:abort");
  }
});
