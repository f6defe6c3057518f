// Files dropped or pasted into a form that takes files join those that were chosen; each can be taken out again.

const inputOf = (form) => form.querySelector('input[type=file]');

const put = (input, files) => {
  const all = new DataTransfer();
  const seen = new Set();
  for (const file of files) {
    const key = `${file.name} ${file.size} ${file.lastModified}`;
    if (!seen.has(key)) all.items.add(file);
    seen.add(key);
  }
  input.files = all.files;
  list(input);
};

const size = (bytes) => {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
};

const list = (input) => {
  const form = input.form;
  let shown = form.querySelector('ul.files[data-js]');
  if (!shown) {
    shown = document.createElement('ul');
    shown.className = 'files';
    shown.setAttribute('data-js', '');
    input.after(shown);
  }
  shown.replaceChildren();
  for (const file of input.files) {
    const item = document.createElement('li');
    const out = document.createElement('button');
    out.type = 'button';
    out.textContent = 'Remove';
    out.setAttribute('aria-label', `Remove ${file.name}`);
    out.addEventListener('click', () => {
      put(input, [...input.files].filter((other) => other !== file));
      input.focus();
    });
    item.append(`${file.name} (${size(file.size)}) `, out);
    shown.append(item);
  }
};

const formOf = (event) => event.target.closest?.('form:has(input[type=file])');
const hasFiles = (event) => event.dataTransfer?.types.includes('Files');

document.addEventListener('dragover', (event) => {
  const form = formOf(event);
  if (!form || !hasFiles(event)) return;
  event.preventDefault();
  form.setAttribute('data-js-over', '');
});
document.addEventListener('dragleave', (event) => {
  const form = formOf(event);
  if (form && !form.contains(event.relatedTarget)) form.removeAttribute('data-js-over');
});
document.addEventListener('drop', (event) => {
  const form = formOf(event);
  if (!form || !hasFiles(event)) return;
  event.preventDefault();
  form.removeAttribute('data-js-over');
  const input = inputOf(form);
  put(input, [...input.files, ...event.dataTransfer.files]);
});
document.addEventListener('paste', (event) => {
  const form = formOf(event);
  const files = [...(event.clipboardData?.files ?? [])];
  if (!form || files.length === 0) return;
  event.preventDefault();
  const input = inputOf(form);
  put(input, [...input.files, ...files]);
});
document.addEventListener('change', (event) => {
  const input = event.target;
  if (input.type === 'file') list(input);
});
