import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import {
  readMessage,
  textOf,
  uint32Avp,
} from '../../../src/realtime/codecs/diameter-wire/message.ts'
import {
  type ClientOptions,
  connectDiameter,
  DiameterClientError,
} from '../../../src/realtime/diameter/client.ts'
import {
  abortSessionRequest,
  reAuthRequest,
} from '../../../src/realtime/diameter/server-requests.ts'
import { IDENTITY, NOW_MS, nodeOf } from '../../support/realtime/diameter/node-of.ts'
import { ccr, HOST, REALM, resultOf } from '../../support/realtime/diameter/raw-peer.ts'
import { waitUntil } from '../../support/wait.ts'

const clientOf = (port: number, further: Partial<ClientOptions> = {}) =>
  connectDiameter({
    host: '127.0.0.1',
    port,
    identity: { originHost: HOST, originRealm: REALM },
    timeoutMs: 10_000,
    nowMs: NOW_MS,
    ...further,
  })

describe('the client for tests and tools', () => {
  it('exchanges capabilities, sends and answers requests, and disconnects', async () => {
    const asked: number[] = []
    const { port, node, lines, requests } = await nodeOf()
    const client = await clientOf(port, {
      onRequest: ({ command }) => {
        asked.push(command)
        return 2002
      },
    })
    expect(textOf(client.capabilities.avps, 264)).toBe(IDENTITY.originHost)
    const answers = await Promise.all([
      client.request(readMessage(ccr(1))),
      client.request(readMessage(ccr(2))),
    ])
    expect(answers.map(resultOf)).toEqual([2001, 2001])
    expect(new Set(requests.map((bytes) => bytes.readUInt32BE(16))).size).toBe(2)
    const raw = await client.exchange(ccr(1))
    expect(raw.readUInt32BE(16)).toBe(1)
    const [connection] = node.connections()
    const address = { sessionId: 's', destinationHost: HOST, destinationRealm: REALM }
    const further = { identity: IDENTITY, stateId: 1 }
    for (const make of [reAuthRequest, abortSessionRequest]) {
      const answer = await connection?.request(make({ ...address, ...further }))
      expect(resultOf(answer ?? null)).toBe(2002)
      expect(textOf(answer?.avps ?? [], 263)).toBe('s')
    }
    expect(asked).toEqual([258, 274])
    await client.close()
    expect(lines.at(-1)?.fields).toMatchObject({ cause: 'DPR of the peer' })
  })

  it('answers the watchdog and disconnect requests of the node', async () => {
    const { port, node, figures } = await nodeOf({ settings: { watchdogMs: 100 } })
    const client = await clientOf(port)
    await waitUntil('two answers', async () => {
      const lines = await figures('tollgate_diameter_messages_total')
      return lines.some((line) => /^direction=in,command=DW,.*: [2-9]/.test(line))
    })
    await node.close()
    await client.closed
    await expect(client.request(readMessage(ccr(1)))).rejects.toThrow(DiameterClientError)
  })

  it('reports why it cannot connect', async () => {
    const { port } = await nodeOf()
    const refused = clientOf(port, { capabilities: [uint32Avp(258, 1)] })
    await expect(refused).rejects.toThrow(
      `127.0.0.1:${port} refuses the connection: 5010 credit control (4) is not among`,
    )
    await expect(clientOf(99_999)).rejects.toThrow(/^cannot connect to 127.0.0.1:99999: Port/)
    const unsound = clientOf(port, { tls: { cert: 'no PEM' } })
    await expect(unsound).rejects.toThrow(DiameterClientError)
    const mute = createServer()
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
    const address = mute.address()
    const mutePort = typeof address === 'object' ? (address?.port ?? 0) : 0
    await expect(clientOf(mutePort, { timeoutMs: 50 })).rejects.toThrow('no answer within 50 ms')
    mute.close()
    await expect(clientOf(mutePort)).rejects.toThrow('ECONNREFUSED')
  })
})
