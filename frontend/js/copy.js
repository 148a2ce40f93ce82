// <lv-copy>: a text and a button that copies it; with data-link, the address of the page. The button shows only where the browser lets a
// page copy.
const SHOWN_MS = 2000;

class Copy extends HTMLElement {
  connectedCallback() {
    const button = this.querySelector("button");
    if (!navigator.clipboard || !button) {
      return;
    }
    const label = button.querySelector("span");
    const usual = label.textContent;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(this.copied());
      label.textContent = "Copied";
      if (this.isLink()) {
        setTimeout(() => (label.textContent = usual), SHOWN_MS); // the next filter has another address
      }
    });
  }

  isLink() {
    return "link" in this.dataset;
  }

  copied() {
    return this.isLink() ? address() : this.querySelector("pre").textContent;
  }
}

// The page as it stands: a list with the filters that it has by now, from its first row.
function address() {
  const url = new URL(location.href);
  url.hash = "";
  if (url.searchParams.has("cursor")) {
    url.searchParams.delete("cursor");
  }
  return url.href;
}

customElements.define("lv-copy", Copy);
