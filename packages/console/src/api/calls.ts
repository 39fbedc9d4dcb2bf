/** The calls of the page, newest first: what the console did, to be repeated by hand. */
import { signal } from '@preact/signals'
import { browserMs } from './clock.ts'

const CALLS_MAX = 100

export interface CallRecord {
  readonly id: number
  readonly method: 'GET' | 'POST'
  /** With the query string, from the root of the API. */
  readonly path: string
  /** JSON text; null without a body, or if it contains a password. */
  readonly body: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly atMs: number
  /** Null while it runs. */
  readonly tookMs: number | null
  /** HTTP status; 0 if there was no answer. */
  readonly httpStatus: number
  readonly outcome: 'running' | 'done' | 'refused' | 'failed' | 'aborted'
}

export const calls = signal<readonly CallRecord[]>([])

let last = 0

export function beginCall(begun: Pick<CallRecord, 'method' | 'path' | 'body' | 'headers'>): number {
  last += 1
  const record = { ...begun, id: last, atMs: browserMs(), tookMs: null, httpStatus: 0 }
  calls.value = [{ ...record, outcome: 'running' } as const, ...calls.value].slice(0, CALLS_MAX)
  return last
}

export function endCall(
  id: number,
  ended: Pick<CallRecord, 'tookMs' | 'httpStatus' | 'outcome'>,
): void {
  calls.value = calls.value.map((each) => (each.id === id ? { ...each, ...ended } : each))
}

/** Called when another page is shown. */
export function forgetCalls(): void {
  calls.value = []
}

/** The same call for a shell; credentials are the variable `TOKEN` of the caller. */
export function curlOf({ method, path, body, headers }: CallRecord): string {
  const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
  const address = new URL(path, document.baseURI).href
  return [
    `curl -sS ${quoted(address)}`,
    method === 'GET' || body !== null ? '' : '-X POST',
    `-H "Authorization: Bearer $TOKEN"`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    body === null ? '' : `-d ${quoted(body)}`,
  ]
    .filter((part) => part !== '')
    .join(' ')
}
