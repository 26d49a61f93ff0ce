// Elements of the page. Names, values and messages come from users: they are only ever inserted as text.

/** An element with attributes and children; a text among them becomes a text node. */
export const h = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "text") made.textContent = value;
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
};

/** A text from outside: its writing direction does not disturb what stands around it. */
export const data = (text) => h("bdi", { text: String(text) });

/** A text from outside that may be long: cut, and whole for who points at it. */
export const brief = (text, most = 80) => {
  const all = String(text);
  return all.length <= most ? data(all) : h("bdi", { text: `${all.slice(0, most - 1)}…`, title: all.slice(0, 2000) });
};

/** A table in a box that scrolls by itself, so that the page never has to. */
export const table = (caption, head, rows) => {
  const made = h("table", {}, h("caption", { class: "unseen", text: caption }),
    h("thead", {}, h("tr", {}, head.map((title, i) => h("th", { scope: "col", class: rows[0]?.children[i]?.className === "number" ? "number" : null }, title)))),
    h("tbody", {}, rows));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, made);
};

/** A cell of a table; numbers stand at its right. */
export const cell = (content, isNumber = false) => h("td", { class: isNumber ? "number" : null }, content);

/** Buttons of which one is chosen. */
export const choice = (label, options, chosen, pick) => {
  const buttons = options.map(([value, text]) =>
    h("button", { type: "button", "aria-pressed": String(value === chosen), onclick: () => {
      buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(options[i][0] === value)));
      pick(value);
    } }, text));
  return h("div", { class: "choice", role: "group", "aria-label": label }, buttons);
};

/** A select with a label. */
export const select = (label, options, chosen, pick) => {
  const made = h("select", { onchange: (event) => pick(event.target.value) },
    options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
  return h("label", { class: "field" }, h("span", { text: label }), made);
};

/** Makes an element hold these children. What is there already stays, so that nobody who reads, scrolls or has the focus
 * there is disturbed; what was to be clicked before still does what it did. */
export const fill = (host, ...children) => patchChildren(host, h("div", {}, ...children));

const patchChildren = (old, next) => {
  const wanted = [...next.childNodes];
  wanted.forEach((node, i) => {
    const there = old.childNodes[i];
    if (!there) old.append(node);
    else if (!patched(there, node)) there.replaceWith(node);
  });
  while (old.childNodes.length > wanted.length) old.lastChild.remove();
};

/** Whether a node could be made equal to another one in its place. */
const patched = (old, next) => {
  if (old.nodeName !== next.nodeName || old.nodeName === "BUTTON") return old.isEqualNode(next);
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return true;
  }
  for (const { name } of [...old.attributes]) if (!next.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of next.attributes) if (old.getAttribute(name) !== value) setAttribute(old, name, value);
  patchChildren(old, next);
  return true;
};

// Styles are not set as attributes: the content-security policy of the page forbids that.
const setAttribute = (element, name, value) => {
  if (name === "style") element.style.cssText = value;
  else element.setAttribute(name, value);
};
