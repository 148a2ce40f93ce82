// What was typed into a form of the page is there again for whoever comes back to it: browsers keep nothing of pages that they may not
// store. It stays in this tab and for this person alone, without secrets, until they sign out, in this tab or another. What confirms
// something is typed each time, and so is what the server answers with other fields: half of such a form would be another request. But
// where one field says it all, or the answer changes no field, which data-comes-back marks, it is there again and is answered again.
const person = document.getElementById("banners")?.dataset.person;
const PREFIX = "levee-typed:";
const key = `${PREFIX}${person}:${location.pathname}${location.search}`;
const KEPT = ["text", "textarea", "number", "search", "date", "time", "datetime-local", "select-one", "checkbox", "radio"];
const forms = () => [...document.querySelectorAll("#main form[method=post]")];
const asks = "[hx-get], [hx-post], [data-confirms]";
const comesBack = (field) => field.closest("[data-comes-back]:not([data-behind])");
const signedOut = new BroadcastChannel("levee-signed-out");
const isTick = (field) => field.type === "checkbox" || field.type === "radio";

// Those that are kept: of several texts with one name nobody could say later whose is which.
function fields(form) {
  const all = [...form.elements].filter((field) => field.name && KEPT.includes(field.type));
  const isAlone = (field) => all.filter((each) => each.name === field.name).length === 1;
  return all.filter((field) => (isTick(field) || isAlone(field)) && (!field.closest(asks) || comesBack(field)));
}

// A field that says it all is behind the others, once these are changed, until the page has answered with a new one.
function isBehind(event) {
  const whole = event.target.form?.querySelector("textarea[data-comes-back]");
  if (whole && event.target.closest("[hx-post]")) {
    whole.toggleAttribute("data-behind", whole !== event.target);
  }
}

function changed(field) {
  if (isTick(field)) {
    return field.checked !== field.defaultChecked;
  }
  if (field.options) {
    return [...field.options].some((each) => each.selected !== each.defaultSelected);
  }
  return field.value !== field.defaultValue || (field.value.trim() && field.matches("[data-comes-back]"));
}

// One form of the page and no other: the page may have more or fewer of them later.
const called = (form) => `${form.id} ${form.getAttribute("action") ?? ""}`;

function keep() {
  const typed = {};
  for (const form of forms()) {
    const own = fields(form)
      .filter(changed)
      .map((field) => [field.name, isTick(field) ? field.value : null, isTick(field) ? field.checked : field.value]);
    if (own.length) {
      typed[called(form)] = own;
    }
  }
  if (Object.keys(typed).length) {
    sessionStorage.setItem(key, JSON.stringify(typed));
  } else {
    sessionStorage.removeItem(key);
  }
}

function fill(form, typed) {
  for (const [name, choice, value] of typed) {
    const field = fields(form).find((each) => each.name === name && (choice === null || each.value === choice));
    if (field) {
      field[choice === null ? "value" : "checked"] = value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
      field.dispatchEvent(new Event("change", { bubbles: true }));
    }
  }
}

function forget() {
  window.removeEventListener("pagehide", keep);
  Object.keys(sessionStorage)
    .filter((each) => each.startsWith(PREFIX))
    .forEach((each) => sessionStorage.removeItem(each));
}

// What asks the server for an answer listens once the document is there.
function fillAll() {
  const kept = sessionStorage.getItem(key);
  if (kept && performance.getEntriesByType("navigation")[0]?.type === "back_forward") {
    const typed = JSON.parse(kept);
    forms().forEach((form) => fill(form, typed[called(form)] ?? []));
  }
}

signedOut.addEventListener("message", forget);
if (person) {
  document.addEventListener("DOMContentLoaded", fillAll);
  window.addEventListener("pagehide", keep);
  ["input", "change"].forEach((kind) => document.addEventListener(kind, isBehind));
  document.addEventListener("submit", (event) => {
    if (event.target.matches("[data-sign-out]")) {
      forget();
      signedOut.postMessage(person);
    }
  });
}
