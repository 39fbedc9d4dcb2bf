import { describe, expect, it } from 'vitest'
import { bareServer } from '../support/admin/bare.ts'

describe('the address of a client', () => {
  const forwarded = { 'x-forwarded-for': '203.0.113.7', 'x-forwarded-host': 'evil.test' }
  const seen: Parameters<typeof bareServer>[0] = (server) => {
    server.get('/seen', async ({ ip, host, protocol }) => ({ ip, host, protocol }))
  }

  it('is that of the connection, whatever headers the client sends', async () => {
    const { url, port } = await bareServer(seen)
    const headers = { ...forwarded, 'x-forwarded-proto': 'https' }
    const answer = await (await fetch(`${url}/seen`, { headers })).json()
    expect(answer).toEqual({ ip: '127.0.0.1', host: `127.0.0.1:${port}`, protocol: 'http' })
  })

  it('is the one that a trusted proxy reports, not one that the client reported', async () => {
    const { url } = await bareServer(seen, { trustedProxies: ['127.0.0.0/8', '10.0.0.1'] })
    const ask = async (chain: string) => {
      const headers = { ...forwarded, 'x-forwarded-for': chain, 'x-forwarded-proto': 'https' }
      return (await fetch(`${url}/seen`, { headers })).json()
    }
    const client = { ip: '203.0.113.7', host: 'evil.test', protocol: 'https' }
    expect(await ask('203.0.113.7')).toEqual(client)
    expect(await ask('1.2.3.4, 203.0.113.7, 10.0.0.1')).toEqual(client)
  })

  it.each([
    ['no address', '127.0.0.1'],
    ['1.2.3.4, <script>alert(1)</script>', '127.0.0.1'],
    ['999.1.1.1', '127.0.0.1'],
    ['unknown, 10.0.0.1', '10.0.0.1'],
    ['1.2.3.4, , 2001:db8::1', '2001:db8::1'],
    ['', '127.0.0.1'],
  ])('is only a valid address: %s', async (chain, ip) => {
    const { url } = await bareServer(seen, { trustedProxies: ['127.0.0.1', '10.0.0.1'] })
    const headers = { 'x-forwarded-for': chain }
    expect(await (await fetch(`${url}/seen`, { headers })).json()).toMatchObject({ ip })
  })

  it.each([
    [{ 'x-forwarded-proto': 'javascript' }],
    [{ 'x-forwarded-proto': '' }],
    [{ 'x-forwarded-host': 'a b' }],
    [{ 'x-forwarded-host': 'evil.test, a/b' }],
  ])('and its host and scheme only have valid values: %o', async (headers) => {
    const { url, port } = await bareServer(seen, { trustedProxies: ['127.0.0.1'] })
    const answer = await (await fetch(`${url}/seen`, { headers })).json()
    expect(answer).toEqual({ ip: '127.0.0.1', host: `127.0.0.1:${port}`, protocol: 'http' })
  })

  it('is never reported by an untrusted proxy', async () => {
    const { url, port } = await bareServer(seen, { trustedProxies: ['10.0.0.0/8'] })
    const headers = { ...forwarded, 'x-forwarded-proto': 'https' }
    const answer = await (await fetch(`${url}/seen`, { headers })).json()
    expect(answer).toEqual({ ip: '127.0.0.1', host: `127.0.0.1:${port}`, protocol: 'http' })
  })
})
