// <lv-log>: follows the end of a log that is swapped while it grows, unless the reader has scrolled up.
const places = new Map();

class Log extends HTMLElement {
  connectedCallback() {
    this.box = this.querySelector("pre");
    const place = places.get(this.id);
    this.box.scrollTop = place ?? this.box.scrollHeight;
    this.box.addEventListener("scroll", () => this.remember(), { passive: true });
  }

  // Null stands for the end, so that the next swap goes to the new end.
  remember() {
    const { scrollTop, clientHeight, scrollHeight } = this.box;
    places.set(this.id, scrollTop + clientHeight >= scrollHeight - 4 ? null : scrollTop);
  }
}

customElements.define("lv-log", Log);
