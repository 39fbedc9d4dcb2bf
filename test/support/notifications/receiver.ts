/** A receiver of notifications over HTTP, whose answers a test replaces. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  readonly method: string
  /** Path and query, as they were sent. */
  readonly target: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
  /** The parameters in the query, or in the form of the body. */
  readonly params: Readonly<Record<string, string>>
}

export type Respond = (response: ServerResponse, received: Received) => unknown

export interface Receiver {
  readonly url: string
  /** In the order of their arrival. */
  readonly received: Received[]
  /** Replaces the usual answer, until it is null again. */
  respond: Respond | null
  /** The stamps of all requests. */
  stamps(): string[]
  close(): Promise<void>
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const one = receivedOf(request, body)
    received.push(one)
    if (receiver.respond !== null) await receiver.respond(response, one)
    else response.end('{"success":true}')
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port: bound } = server.address() as AddressInfo
  const receiver: Receiver = {
    url: `http://127.0.0.1:${bound}/told`,
    received,
    respond: null,
    stamps: () => received.map(({ params }) => params['stamp'] ?? ''),
    async close() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
  return receiver
}

function receivedOf({ method = '', url = '', headers }: IncomingMessage, body: string): Received {
  const isForm = headers['content-type'] === 'application/x-www-form-urlencoded'
  const query = new URL(url, 'http://receiver').searchParams
  const params = Object.fromEntries(isForm ? new URLSearchParams(body) : query)
  return { method, target: url, headers, body, params }
}
