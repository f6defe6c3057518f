// Keeps a conversation at its end while it grows, unless the reader has scrolled up.
//
// Where it ends is asked once before a frame, and only if it has changed: the answer needs the layout of the whole page, which for
// a run of a thousand steps takes longer than a frame.

export const isAtEnd = (element) => element.scrollHeight - element.scrollTop - element.clientHeight < 48;

const toEnd = (element) => {
  element.scrollTop = element.scrollHeight;
};

const followed = new WeakSet();

const follow = (element) => {
  followed.add(element);
  // What is newest is shown first, unless the address names a place.
  if (!location.hash) toEnd(element);
  let follows = isAtEnd(element);
  let top = element.scrollTop;
  let frame = 0;
  element.addEventListener('scroll', () => {
    // More may have come since this was scrolled to its end, so only the way up ends it.
    if (isAtEnd(element)) follows = true;
    else if (element.scrollTop < top) follows = false;
    top = element.scrollTop;
  }, { passive: true });
  new MutationObserver(() => {
    if (!follows) return;
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      if (follows) toEnd(element);
    });
  }).observe(element, { childList: true, characterData: true, subtree: true });
};

const look = () => {
  for (const element of document.querySelectorAll('.chat')) if (!followed.has(element)) follow(element);
};

document.addEventListener('page:changed', look);
look();
