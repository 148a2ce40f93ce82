// <lv-statement>: shows the CONVERT statement that the chosen types make. The server builds and checks the real one.
class Statement extends HTMLElement {
  connectedCallback() {
    for (const field of this.fields()) {
      field.addEventListener("change", () => this.show());
    }
    this.show();
  }

  fields() {
    return document.querySelectorAll(`[form="${this.getAttribute("form")}"][data-column], [data-statistics]`);
  }

  show() {
    const columns = [...this.fields()].filter((field) => field.dataset.column);
    const types = this.querySelectorAll("[data-type]");
    columns.forEach((field, index) => {
      types[index].textContent = field.selectedOptions[0].dataset.sql;
    });
    const statistics = document.querySelector("[data-statistics]");
    this.querySelector("[data-without]").hidden = !statistics || statistics.value === "true";
  }
}

customElements.define("lv-statement", Statement);
