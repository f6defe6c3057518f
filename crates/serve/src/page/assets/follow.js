// Keeps a conversation at its end while it grows, unless the reader has scrolled up.
//
// Where it ends is asked once before a frame, and only if it has changed: the answer needs the layout of the whole page, which for
// a run of a thousand steps takes longer than a frame.

export const isAtEnd = (element) => element.scrollHeight - element.scrollTop - element.clientHeight < 48;

const followed = new WeakSet();

const follow = (element) => {
  followed.add(element);
  let follows = false;
  let top = 0;
  let frame = 0;
  const toEnd = () => {
    element.scrollTop = element.scrollHeight;
    top = element.scrollTop;
  };
  const toEndLater = () => {
    if (!follows) return;
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      if (follows) toEnd();
    });
  };
  // What is newest is shown first, unless the address names a place.
  if (!location.hash) toEnd();
  follows = isAtEnd(element);
  element.addEventListener('scroll', () => {
    // Not to be at the end is no sign by itself, since more may have come: only to scroll up is.
    if (isAtEnd(element)) follows = true;
    else if (element.scrollTop < top) follows = false;
    top = element.scrollTop;
  }, { passive: true });
  // Somebody who opens something at the end reads it.
  element.addEventListener('toggle', () => {
    follows = isAtEnd(element);
  }, true);
  new MutationObserver(toEndLater).observe(element, { childList: true, characterData: true, subtree: true });
  new ResizeObserver(toEndLater).observe(element);
};

const look = () => {
  for (const element of document.querySelectorAll('.chat')) if (!followed.has(element)) follow(element);
};

document.addEventListener('page:changed', look);
look();
