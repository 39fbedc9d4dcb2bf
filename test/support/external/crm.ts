/** A customer system over HTTP(S), whose answers a test replaces. */
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { CallSettings } from '../../../src/external/customers/http.ts'
import type { CustomerQuery } from '../../../src/external/customers/queries.ts'

export type CrmFields = Record<string, unknown>

export interface CrmRequest {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
  /** The queries in the body; none if it has none. */
  readonly queries: readonly CustomerQuery[]
}

/** Answers a request itself. */
export type Respond = (response: ServerResponse, request: CrmRequest) => unknown

export interface Crm {
  readonly url: string
  /** In the order of their arrival. */
  readonly requests: CrmRequest[]
  /** Revisions by the `<key>:<value>` that find them. */
  readonly subscribers: Map<string, CrmFields[]>
  readonly accounts: Map<string, CrmFields[]>
  /** Replaces the usual answer, until it is null again. */
  respond: Respond | null
  /** Queries of subscribers, as `<key>:<value>`. */
  asked(): string[]
  call(path: string, more?: Partial<CallSettings>): CallSettings
  close(): Promise<void>
}

export async function startCrm(tls?: { certFile: string; keyFile: string }): Promise<Crm> {
  const requests: CrmRequest[] = []
  const listener = async (incoming: IncomingMessage, response: ServerResponse) => {
    let body = ''
    for await (const chunk of incoming.setEncoding('utf8')) body += chunk
    const request = requestOf(incoming, body)
    requests.push(request)
    response.setHeader('content-type', 'application/json')
    if (crm.respond !== null) await crm.respond(response, request)
    else response.end(JSON.stringify(usualAnswer(crm, request)))
  }
  const server =
    tls === undefined
      ? createServer(listener)
      : createTlsServer(
          { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) },
          listener,
        )
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  const url = tls === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`
  const crm: Crm = {
    url,
    requests,
    subscribers: new Map(),
    accounts: new Map(),
    respond: null,
    asked: () =>
      requests
        .filter(({ path }) => path === '/subscribers')
        .flatMap(({ queries }) => queries.map(({ params: [param] }) => nameOf(param))),
    call: (path, more = {}) => ({
      url: `${url}${path}`,
      timeoutMs: 5_000,
      ca: '',
      authentication: { type: 'none' },
      problem: null,
      ...more,
    }),
    async close() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
  return crm
}

function requestOf({ url = '', headers }: IncomingMessage, body: string): CrmRequest {
  const isJson = headers['content-type'] === 'application/json'
  const { query = [] } = isJson ? (JSON.parse(body) as { query?: CustomerQuery[] }) : {}
  return { path: url, headers, body, queries: query }
}

/** The answer of a customer system that works as the interface says. */
export function usualAnswer(
  { subscribers, accounts }: Pick<Crm, 'subscribers' | 'accounts'>,
  { path, queries }: CrmRequest,
): CrmFields[] {
  const known = path === '/accounts' ? accounts : subscribers
  return queries.flatMap(({ id, params: [param] }) =>
    (known.get(nameOf(param)) ?? []).map((fields) => ({ ...fields, id })),
  )
}

function nameOf(param: CustomerQuery['params'][number] | undefined): string {
  return `${param?.key}:${param?.value}`
}

/** A revision of a subscriber. */
export function subscriberRevision(sid: number, aid: number, more: CrmFields = {}): CrmFields {
  const period = { from: '2026-01-01 00:00:00', to: '2170-01-01 00:00:00' }
  return { sid, aid, plan: 'PLAN', services: [], ...period, ...more }
}
