// Before the first paint: the colours that were chosen on this address, else those of the system.
const chosen = localStorage.getItem('isthmus-theme');
if (chosen === 'dark' || chosen === 'light') {
  document.documentElement.dataset.theme = chosen;
}
