/** Generates command lines of curl with the required credentials. */

export interface Sample {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Base address of the node, such as `http://127.0.0.1:8182`. */
  readonly baseUrl: string
  /** For GET: parameters in the query string. */
  readonly query?: Readonly<Record<string, unknown>>
  /** JSON body. */
  readonly json?: unknown
  /** Another body, with its media type. */
  readonly message?: readonly [type: string, text: string]
  /** Multipart body: values of curl's `-F`. */
  readonly parts?: readonly string[]
  readonly headers?: readonly string[]
  /** Arguments of curl that replace the token. */
  readonly credentials?: readonly string[]
}

/** Access token in the variable `TOKEN`, obtained with `POST /oauth2/token`. */
const TOKEN = ['-H "Authorization: Bearer $TOKEN"'] as const

/** A command that can be pasted into a shell. */
export function curlSample(sample: Sample): string {
  const { method, path, baseUrl, query, json, parts = [], headers = [] } = sample
  const { credentials = TOKEN } = sample
  const body =
    json === undefined ? sample.message : (['application/json', JSON.stringify(json)] as const)
  const values = Object.entries(query ?? {}).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return `--data-urlencode ${quoted(`${name}=${text}`)}`
  })
  const isBare = method === 'POST' && body === undefined && parts.length === 0
  const lines = [
    `curl -s${method === 'GET' && values.length > 0 ? 'G' : ''} ${quoted(baseUrl + path)}`,
    ...(isBare ? ['-X POST'] : []),
    ...credentials,
    ...headers.map((header) => `-H ${quoted(header)}`),
    ...values,
    ...parts.map((part) => `-F ${quoted(part)}`),
    ...(body === undefined ? [] : [`-H 'Content-Type: ${body[0]}'`, `-d ${quoted(body[1])}`]),
  ]
  return lines.join(' \\\n  ')
}

/** Quoted as one shell word. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
