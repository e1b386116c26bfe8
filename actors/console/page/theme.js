// Sets the chosen theme before the first paint; without a choice the system's counts.
const chosenTheme = localStorage.getItem('theme');
if (chosenTheme) document.documentElement.dataset.theme = chosenTheme;
