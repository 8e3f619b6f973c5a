/** Draws the diagrams of a page, in the system's light or dark colours. */

const { mermaid, matchMedia } = globalThis;
const isDark = matchMedia('(prefers-color-scheme: dark)').matches;

mermaid.initialize({
  startOnLoad: false,
  theme: isDark ? 'dark' : 'neutral',
  // The theme's own background is too light for its text.
  themeVariables: isDark ? { edgeLabelBackground: '#30363d' } : {},
});
await mermaid.run({ querySelector: 'pre.mermaid' });
