import { html } from '../../viewer/html';

test('every inserted text is escaped, in elements and in attributes', () => {
  const text = `<script>alert("1" & '2')</script>`;
  expect(html`<p title="${text}">${text}</p>`.text).toBe(
    '<p title="&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;">&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;</p>',
  );
});

test('HTML, lists of it and nothing are inserted without escaping', () => {
  const items = [1, 2].map((value) => html`<b>${value}</b>`);
  expect(html`<p>${items}${undefined}</p>`.text).toBe('<p><b>1</b><b>2</b></p>');
});
