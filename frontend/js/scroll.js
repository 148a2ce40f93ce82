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

// A drawing of time that doesn't fit begins at its newest end.
const shown = new WeakSet();
function toNewest(region) {
  if (region.classList.contains("lv-newest") && region.scrollWidth > region.clientWidth && !shown.has(region)) {
    shown.add(region);
    region.scrollLeft = region.scrollWidth;
  }
}

const watcher = new ResizeObserver((entries) => entries.forEach((entry) => [mark, toNewest].forEach((act) => act(entry.target))));

export function watch(root) {
  root.querySelectorAll(".lv-scroll").forEach((region) => watcher.observe(region));
}

watch(document);
document.addEventListener("htmx:load", (event) => watch(event.target));
