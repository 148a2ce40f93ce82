// A link that goes on from the list as it is narrowed now, not as it was when the page came: the address follows each swap.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-keeps-query]");
  if (link) {
    const asked = new URLSearchParams(link.search);
    const now = new URLSearchParams(location.search);
    now.delete("cursor");
    now.set("facet", asked.get("facet"));
    link.search = now.toString();
  }
});
