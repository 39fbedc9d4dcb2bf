/** A small credit-control server that replaces the node in tests of the harness. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { WireMessage } from '../../../../src/realtime/codecs/diameter-wire/message.ts'
import { command } from '../../../../src/realtime/codecs/diameter-wire/protocol.ts'
import { type NamedAvps, namedAvps } from '../../../../src/realtime/diameter/named.ts'
import { answerAsPeer, capabilitiesOf, type Identity, type Link, linkOn } from './link.ts'

export interface StubNode {
  readonly port: number
  /** Its connections, in the order in which they were opened. */
  readonly links: readonly Link[]
  close(): Promise<void>
}

/** Grants what is requested, at a port. */
export async function startStubNode(identity: Identity, port: number): Promise<StubNode> {
  const links: Link[] = []
  const server = createServer((socket) => {
    links.push(linkOn(socket, (request) => answerTo(request, identity)))
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    port,
    links,
    async close() {
      const closed = once(server, 'close')
      server.close()
      await Promise.all(links.map((link) => link.close()))
      await closed
    },
  }
}

function answerTo(request: WireMessage, identity: Identity): NamedAvps | null {
  if (request.command === command.capabilitiesExchange) {
    return { 'Result-Code': 2001, ...capabilitiesOf(identity) }
  }
  const answer = answerAsPeer(identity)(request)
  if (request.command !== command.creditControl) return answer
  const asked = namedAvps(request.avps)
  return {
    ...answer,
    'Auth-Application-Id': 4,
    'CC-Request-Type': asked['CC-Request-Type'] ?? 0,
    'CC-Request-Number': asked['CC-Request-Number'] ?? 0,
    'Multiple-Services-Credit-Control': {
      'Granted-Service-Unit': { 'CC-Total-Octets': 1000 },
      'Rating-Group': 10,
      'Result-Code': 2001,
    },
  }
}
