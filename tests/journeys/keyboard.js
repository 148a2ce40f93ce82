// What a page says of itself to somebody who has a keyboard alone. Its functions are made once in each page, by keyboard.py.
(() => {
  const NATIVE = "a[href], button, input:not([type=hidden]), select, textarea, summary";
  const STOPS = `${NATIVE}, [tabindex]:not([tabindex="-1"]), [contenteditable]`;
  const OPERABLE = `${STOPS}, label, dialog, [role][tabindex]`;
  const FAMILY = 4; // an element and those around it that may show its focus

  const told = (element) => element.outerHTML.replace(/\s+/g, " ").slice(0, 140);
  const isShown = (element) => element.checkVisibility({ visibilityProperty: true }) && !element.closest("[inert]");
  // What repeats something that has a stop of its own: a drawing's link beside its table's, the button that Enter in a field presses.
  const isSpare = (element) =>
    element.matches('[aria-hidden="true"][tabindex="-1"]') &&
    (element.matches("button.visually-hidden") || hrefs().has(element.getAttribute("href")));
  const hrefs = () => new Set([...document.querySelectorAll("a[href]:not([aria-hidden])")].filter(isShown).map((link) => link.getAttribute("href")));
  const stops = () => shown(STOPS).filter((element) => !isSpare(element));
  const shown = (selector) => [...document.querySelectorAll(selector)].filter((element) => isShown(element) && !element.matches(":disabled"));

  // A group of radio buttons is one stop.
  const stopOf = (element) =>
    element.type === "radio" && element.name ? document.querySelector(`input[name="${CSS.escape(element.name)}"]`) : element;

  function family(element) {
    const found = [];
    for (let each = element; each && found.length < FAMILY; each = each.parentElement) {
      found.push(each);
    }
    return found;
  }

  // An outline, as forced colours leave nothing of a shadow, and as wide as to be seen.
  function outline(element) {
    const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(element);
    const isSeen = outlineStyle === "auto" || outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 && !/rgba\(.*, 0\)/.test(outlineColor);
    return isSeen ? `${outlineStyle} ${outlineWidth} ${outlineColor}` : "";
  }

  let wanted, reached, unmarked, before;

  function look({ target }) {
    reached.add(stopOf(target));
    if (!family(target).some((each) => outline(each) && outline(each) !== before.get(each))) {
      unmarked.add(target);
    }
  }

  // Everything that can be opened is open: what is in a menu is reached once it is.
  async function begin() {
    await new Promise((seen) => requestAnimationFrame(() => setTimeout(seen))); // in which observers of sizes have marked what scrolls now
    document.querySelectorAll("details").forEach((details) => (details.open = true));
    document.activeElement?.blur();
    [wanted, reached, unmarked, before] = [new Set(stops().map(stopOf)), new Set(), new Set(), new Map()];
    wanted.forEach((stop) => family(stop).forEach((each) => before.set(each, outline(each))));
    document.addEventListener("focusin", look);
    return wanted.size;
  }

  const missing = () => [...wanted].filter((stop) => !reached.has(stop));

  // What only a mouse could use: it shows a hand, or sends a request at a click, and isn't, nor is in, anything that Enter operates.
  function mouseOnly() {
    const sends = "[hx-get], [hx-post], [hx-put], [hx-patch], [hx-delete]";
    const isClicked = (element) => /(^|[\s,])click/.test(element.getAttribute("hx-trigger") ?? (element.matches("form") ? "" : "click"));
    const hands = shown("body *").filter((element) => getComputedStyle(element).cursor === "pointer");
    const senders = shown(sends).filter(isClicked);
    return [...new Set([...hands, ...senders, ...handled])].filter((element) => element.isConnected && !element.closest(OPERABLE));
  }

  // Focused, and then wholly under something else that stays in its place.
  function covered() {
    const isUnder = (element) => {
      element.focus({ focusVisible: true });
      const boxes = [...element.getClientRects()].filter((box) => box.width && box.height);
      return boxes.length && !boxes.some((box) => points(box).some((point) => isOf(element, document.elementFromPoint(...point))));
    };
    return stops().filter(isUnder);
  }
  const points = ({ left, top, width, height }) =>
    [0.1, 0.5, 0.9].flatMap((x) => [0.1, 0.5, 0.9].map((y) => [left + width * x, top + height * y]));
  const isOf = (element, hit) => hit && (element.contains(hit) || hit.contains(element) || hit.closest("label")?.control === element);

  // Anything that moves, or would.
  function moving() {
    const isMoving = ({ animationName, animationDuration, transitionProperty, transitionDuration, scrollBehavior }) =>
      (animationName !== "none" && parseFloat(animationDuration) > 0.01) ||
      (transitionProperty !== "none" && transitionDuration.split(",").some((time) => parseFloat(time) > 0.01)) ||
      scrollBehavior === "smooth";
    const all = [...document.querySelectorAll("*")];
    return all.filter((element) => [null, "::before", "::after"].some((part) => isMoving(getComputedStyle(element, part))));
  }

  // Elements that a script gave a handler of the mouse; htmx gives each form one, to know which of its buttons was pressed.
  const handled = new Set();
  const listen = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function (kind, ...rest) {
    if (/^(click|dblclick|mousedown|mouseup|pointerdown|pointerup)$/.test(kind) && this instanceof Element && !(this instanceof HTMLFormElement)) {
      handled.add(this);
    }
    return listen.call(this, kind, ...rest);
  };

  const telling = (list) => () => list().map(told);
  window.keyboard = {
    begin, left: () => missing().length,
    missing: telling(missing), unmarked: telling(() => [...unmarked]), mouseOnly: telling(mouseOnly), covered: telling(covered), moving: telling(moving),
  };
})();
