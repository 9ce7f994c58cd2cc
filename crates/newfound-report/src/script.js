// Comfort only: nothing on the page needs this. Escape and the arrow keys follow the links of the image
// that is shown large, and closing it leads the keyboard back to where it was opened.
let opener;
addEventListener('click', ({ target }) => {
  const link = target.closest('a');
  if (link && !link.closest('.view')) opener = link;
});
addEventListener('keydown', (event) => {
  const links = [...document.querySelectorAll('.view:target [data-key]')];
  const link = links.find(({ dataset }) => dataset.key === event.key);
  if (!link || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  link.click();
});
addEventListener('hashchange', () => {
  const view = document.querySelector('.view:target a');
  if (view) view.focus();
  else if (location.hash === '#page') opener?.focus({ preventScroll: true });
});
