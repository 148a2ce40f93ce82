// A swapped fragment says its news by data-announce; a live region must stay in the page to be heard.
let last = "";

document.addEventListener("htmx:afterSettle", () => {
  const text = document.querySelector("[data-announce]")?.dataset.announce ?? "";
  if (text && text !== last) {
    document.getElementById("announce").textContent = text;
  }
  last = text;
});
