/** HTML of the sandbox's hosted page: a form, without scripts and without other resources. */

export interface PageContent {
  readonly reference: string
  readonly aid: number
  /** Why the last entry was refused; empty at first. */
  readonly problem: string
}

const STYLE = [
  'body{font:16px/1.5 system-ui,sans-serif;margin:0;background:#f4f5f7;color:#1c2430}',
  'main{max-width:26rem;margin:3rem auto;padding:1.5rem;background:#fff;border-radius:8px}',
  'label{display:block;margin-top:1rem}',
  'input{font:inherit;width:100%;box-sizing:border-box;padding:.5rem}',
  'button{font:inherit;margin-top:1.25rem;padding:.5rem 1rem}',
  '[role=alert]{color:#a11}',
].join('')

export function cardPage({ reference, aid, problem }: PageContent): string {
  const alert = problem === '' ? '' : `<p role="alert">${escaped(problem)}</p>`
  const address = `/paymentgateways/sandbox/${encodeURIComponent(reference)}`
  return pageOf(
    'Card details',
    `<p>Simulated payment page for account ${aid}. Enter test cards only.</p>${alert}
<form method="post" action="${address}" autocomplete="off">
<label>Card number <input name="number" inputmode="numeric" required maxlength="23"></label>
<label>Expires (MM/YY) <input name="expiry" required maxlength="7"></label>
<label>Number of the holder <input name="personal_id" maxlength="32"></label>
<button name="choice" value="save">Save card</button>
<button name="choice" value="cancel" formnovalidate>Cancel</button>
</form>`,
  )
}

/** A page without a form. */
export function messagePage(title: string, text: string): string {
  return pageOf(title, `<p>${escaped(text)}</p>`)
}

function pageOf(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title><style>${STYLE}</style></head>
<body><main><h1>${escaped(title)}</h1>
${body}
</main></body></html>
`
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}
