// A region that scrolls sideways must be reachable by keyboard, but only while something in it overflows.
function mark(region) {
  if (region.scrollWidth > region.clientWidth) {
    region.tabIndex = 0;
    region.role = region.ariaLabel ? "region" : null;
  } else {
    region.removeAttribute("tabindex");
    region.role = null;
  }
}

const watcher = new ResizeObserver((entries) => entries.forEach((entry) => mark(entry.target)));

export function watch(root) {
  root.querySelectorAll(".lv-scroll").forEach((region) => watcher.observe(region));
}

watch(document);
document.addEventListener("htmx:load", (event) => watch(event.target));
