/** A POST of JSON; further headers may be given. */
export function postJson(url: string, sent: object, more: Record<string, string> = {}) {
  const headers = { 'content-type': 'application/json', ...more }
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(sent) })
}
