// Leaves out of a stylesheet what no page can show: rules for classes that aren't in use. A rule without a class stays.

const NESTED = /^@(media|supports|layer|container)\b/;
const CLASS = /\.(-?[_a-zA-Z][\w-]*)/g;

// The stylesheet with those of its selectors whose every class is among `kept`. What is inside :not() asks for nothing.
// Of the comments, those with a licence stay.
export function purge(css, kept) {
  let out = (css.match(/\/\*![\s\S]*?\*\//g) ?? []).join("\n");
  for (const [prelude, body] of blocks(css.replace(/\/\*[\s\S]*?\*\//g, ""))) {
    if (body === null) {
      out += `${prelude};`;
    } else if (NESTED.test(prelude)) {
      const inner = purge(body, kept);
      out += inner && `${prelude}{${inner}}`;
    } else if (prelude.startsWith("@")) {
      out += `${prelude}{${body}}`;
    } else {
      const selectors = parts(prelude).filter((selector) => shows(selector, kept));
      out += selectors.length ? `${selectors.join(",")}{${body}}` : "";
    }
  }
  return out;
}

function shows(selector, kept) {
  const asked = withoutNot(selector);
  return !asked.includes("\\") && [...asked.matchAll(CLASS)].every((found) => kept.has(found[1]));
}

// Pairs of what is before a block and what is in it; null for a statement without a block.
function* blocks(css) {
  let start = 0;
  for (let at = 0; at < css.length; at++) {
    const sign = css[at];
    if (sign === '"' || sign === "'") {
      at = css.indexOf(sign, at + 1);
    } else if (sign === ";") {
      yield [css.slice(start, at).trim(), null];
      start = at + 1;
    } else if (sign === "{") {
      const end = closing(css, at);
      yield [css.slice(start, at).trim(), css.slice(at + 1, end)];
      at = end;
      start = end + 1;
    }
  }
}

function closing(css, open) {
  let depth = 0;
  for (let at = open; at < css.length; at++) {
    const sign = css[at];
    if (sign === '"' || sign === "'") {
      at = css.indexOf(sign, at + 1);
    } else if (sign === "{") {
      depth += 1;
    } else if (sign === "}" && --depth === 0) {
      return at;
    }
  }
  throw new Error("a block of the stylesheet has no end");
}

// The selectors of a list: commas inside parentheses part nothing.
function parts(prelude) {
  const found = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < prelude.length; at++) {
    depth += (prelude[at] === "(") - (prelude[at] === ")");
    if (prelude[at] === "," && depth === 0) {
      found.push(prelude.slice(start, at));
      start = at + 1;
    }
  }
  return [...found, prelude.slice(start)];
}

// The selector without its :not(…), whatever lies in them.
function withoutNot(selector) {
  const start = selector.indexOf(":not(");
  if (start < 0) {
    return selector;
  }
  let depth = 0;
  let end = start + ":not".length;
  do {
    depth += (selector[end] === "(") - (selector[end] === ")");
    end += 1;
  } while (depth > 0 && end < selector.length);
  return selector.slice(0, start) + withoutNot(selector.slice(end));
}

const PROPERTY = /^\s*(--[\w-]+)\s*:/;

// The stylesheet without the custom properties that neither it nor `others`, the stylesheets beside it, read by var().
export function withoutUnread(css, others) {
  const read = new Set([...(css + others).matchAll(/var\(\s*(--[\w-]+)/g)].map((found) => found[1]));
  const left = rules(css, read);
  return left === css ? css : withoutUnread(left, others); // one that is gone may have been the last to read another
}

function rules(css, read) {
  let out = (css.match(/\/\*![\s\S]*?\*\//g) ?? []).join("\n");
  for (const [prelude, body] of blocks(css.replace(/\/\*[\s\S]*?\*\//g, ""))) {
    if (body === null) {
      out += `${prelude};`;
    } else {
      const inner = body.includes("{") ? rules(body, read) : declarations(body).filter((line) => isRead(line, read)).join(";");
      out += inner && `${prelude}{${inner}}`;
    }
  }
  return out;
}

function isRead(line, read) {
  const property = PROPERTY.exec(line);
  return property === null || read.has(property[1]);
}

// The declarations of a block: semicolons in quotes or parentheses part nothing.
function declarations(body) {
  const found = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < body.length; at++) {
    const sign = body[at];
    if (sign === '"' || sign === "'") {
      at = body.indexOf(sign, at + 1);
    } else {
      depth += (sign === "(") - (sign === ")");
      if (sign === ";" && depth === 0) {
        found.push(body.slice(start, at));
        start = at + 1;
      }
    }
  }
  return [...found, body.slice(start)].filter((line) => line.trim());
}
