// Changes one piece of the page into another, and touches only what differs.
//
// Elements that stay keep their focus, their scroll position, what was typed into them and whether a <details> is open.
// Children are matched by id, data-key, data-step or the ends of an edge, all others by their kind and order.
// What scripts add is marked with `data-js` and is left alone, as are attributes that begin with `data-js-`.

const keyOf = (node) => {
  if (node.nodeType !== Node.ELEMENT_NODE) return null;
  if (node.id) return `#${node.id}`;
  const { key, step, from, to } = node.dataset;
  if (from && to) return `${node.localName} ${from} ${to}`;
  return key || step ? `${node.localName} ${key || step}` : null;
};

const isOurs = (node) => node.nodeType === Node.ELEMENT_NODE && node.hasAttribute('data-js');

// What the reader has changed and the server does not know of.
const isReaders = (element, name) =>
  name.startsWith('data-js-') ||
  (name === 'open' && (element.localName === 'details' || element.localName === 'dialog')) ||
  (name === 'style' && element.hasAttribute('data-js-view'));

const morphAttributes = (from, to) => {
  for (const { name, value } of [...to.attributes]) {
    if (!isReaders(from, name) && from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name) && !isReaders(from, name)) from.removeAttribute(name);
  }
};

// A slider that was moved no longer follows its attribute.
const morphValue = (from, to) => {
  if (from.type === 'range' && from.value !== to.getAttribute('value') && document.activeElement !== from) {
    from.value = to.getAttribute('value');
  }
};

const morphChildren = (from, to) => {
  const keyed = new Map();
  for (const child of from.childNodes) {
    const key = keyOf(child);
    if (key !== null && !isOurs(child)) keyed.set(key, child);
  }
  const skip = (node) => {
    while (node && isOurs(node)) node = node.nextSibling;
    return node;
  };
  let at = skip(from.firstChild);
  for (const wanted of [...to.childNodes]) {
    const key = keyOf(wanted);
    const fits = (node) => node && keyOf(node) === key && node.nodeName === wanted.nodeName && !isOurs(node);
    let found = key === null ? at : keyed.get(key);
    if (key === null) {
      // Those that wait for another place are not taken for text that happens to stand here.
      while (found && (keyOf(found) !== null || isOurs(found))) found = found.nextSibling;
    }
    if (!fits(found)) {
      from.insertBefore(wanted, at);
      continue;
    }
    keyed.delete(key);
    if (found === at) at = skip(at.nextSibling);
    else from.insertBefore(found, at);
    morph(found, wanted);
  }
  while (at) {
    const next = skip(at.nextSibling);
    at.remove();
    at = next;
  }
};

export const morph = (from, to) => {
  if (from.isEqualNode(to)) return from;
  if (from.nodeName !== to.nodeName || from.nodeType !== to.nodeType) {
    from.replaceWith(to);
    return to;
  }
  if (from.nodeType !== Node.ELEMENT_NODE) {
    from.data = to.data;
    return from;
  }
  morphAttributes(from, to);
  if (from.localName === 'input') morphValue(from, to);
  morphChildren(from, to);
  return from;
};

// Runs a change of the page, then tells every module that something is new.
export const changing = (change) => {
  change();
  document.dispatchEvent(new CustomEvent('page:changed'));
};
