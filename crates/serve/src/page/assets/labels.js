// Writes the text of the steps in sight over a graph, as HTML.
//
// A browser lays out the text of a picture anew for each scale and then paints the whole picture; text of HTML grows with the layer
// that it is on. So the picture's own text is for pages without scripts (graph.css), and this takes its words. To screen readers
// the name of a step's link is its title, and these words are hidden.

const LINES = ['label', 'detail', 'meta'];

const wordsOf = (node, line) => node.querySelector(`.${line}`)?.textContent ?? '';

// What decides how the text of a step looks.
const look = (node) => [node.getAttribute('class'), ...LINES.map((line) => wordsOf(node, line))].join('\n');

const write = (text, node) => {
  text.className = `${node.getAttribute('class')} step-text`.replace(/^node /, '');
  text.replaceChildren(...LINES.map((line) => {
    const piece = document.createElement('span');
    piece.className = line;
    piece.textContent = wordsOf(node, line);
    return piece;
  }));
};

export class Labels {
  #list = document.createElement('div');
  #shown = new Map();

  constructor(svg) {
    this.#list.className = 'step-texts';
    this.#list.setAttribute('data-js', '');
    this.#list.setAttribute('aria-hidden', 'true');
    svg.after(this.#list);
  }

  // From now on the text of these steps is there, and no other: {node, left, top} of each.
  show(steps) {
    const wanted = new Set(steps.map(({ node }) => node));
    for (const [node, { text }] of this.#shown) {
      if (wanted.has(node)) continue;
      text.remove();
      this.#shown.delete(node);
    }
    const added = [];
    for (const { node, left, top } of steps) {
      let one = this.#shown.get(node);
      if (!one) {
        one = { text: document.createElement('div') };
        this.#shown.set(node, one);
        added.push(one.text);
      }
      if (one.left !== left) one.text.style.left = `${left}px`;
      if (one.top !== top) one.text.style.top = `${top}px`;
      Object.assign(one, { left, top });
    }
    this.refresh();
    this.#list.append(...added);
  }

  // The steps are where they were, but other words may stand in them.
  refresh() {
    for (const [node, one] of this.#shown) {
      if (!node.isConnected) {
        one.text.remove();
        this.#shown.delete(node);
        continue;
      }
      const now = look(node);
      if (one.look !== now) write(one.text, node);
      one.look = now;
    }
  }
}
