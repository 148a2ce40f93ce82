// <lv-copy>: a text and a button that copies it. The button shows only where the browser lets a page copy.
class Copy extends HTMLElement {
  connectedCallback() {
    const button = this.querySelector("button");
    if (!navigator.clipboard || !button) {
      return;
    }
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(this.querySelector("pre").textContent);
      button.querySelector("span").textContent = "Copied";
    });
  }
}

customElements.define("lv-copy", Copy);
