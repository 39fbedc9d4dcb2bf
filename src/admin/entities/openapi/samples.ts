/** Calls of operations as lines of curl, with the credentials that they need. */

export interface Sample {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Base address of the node, such as `http://127.0.0.1:8182`. */
  readonly baseUrl: string
  /** Of GET: parameters in the address. */
  readonly query?: Readonly<Record<string, unknown>>
  /** A body of JSON. */
  readonly json?: unknown
  /** A body of parts: values of curl's `-F`. */
  readonly parts?: readonly string[]
  readonly headers?: readonly string[]
  /** Arguments of curl in place of the token. */
  readonly credentials?: readonly string[]
}

/** An access token in the variable `TOKEN`, as `POST /oauth2/token` gives it. */
const TOKEN = ['-H "Authorization: Bearer $TOKEN"'] as const

/** Pasted into a shell it does the call. */
export function curlSample(sample: Sample): string {
  const { method, path, baseUrl, query, json, parts = [], headers = [] } = sample
  const { credentials = TOKEN } = sample
  const values = Object.entries(query ?? {}).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return `--data-urlencode ${quoted(`${name}=${text}`)}`
  })
  const isBare = method === 'POST' && json === undefined && parts.length === 0
  const lines = [
    `curl -s${method === 'GET' && values.length > 0 ? 'G' : ''} ${quoted(baseUrl + path)}`,
    ...(isBare ? ['-X POST'] : []),
    ...credentials,
    ...headers.map((header) => `-H ${quoted(header)}`),
    ...values,
    ...parts.map((part) => `-F ${quoted(part)}`),
    ...(json === undefined
      ? []
      : [`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(json))}`]),
  ]
  return lines.join(' \\\n  ')
}

/** As one word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
