// A list that is narrowed while you type changes its address, not the forms above it: they go by the address when they are sent.
document.addEventListener("submit", (event) => {
  const form = event.target.closest(".lv-list-bar form");
  if (form) {
    form.elements.next.value = location.pathname + location.search;
    if (form.elements.query) {
      form.elements.query.value = location.search;
    }
  }
});
