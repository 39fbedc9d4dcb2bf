import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { fileWith, problemsOf } from '../support/config/files.ts'

describe('settings of TLS', () => {
  it('refuse the native server for TLS that it cannot serve', () => {
    const files = "certFile: c, keyFile: k, clientCaFile: ''"
    const https = (more: string, realtime = '') =>
      fileWith(`realtime: { tls: { enabled: true, ${files.replace("''", more)} }${realtime} }`)
    const why = 'realtime.tls as it is set: it does not expose client certificates'
    const native = problemsOf({ file: https('ca', ', httpServer: native') }).problems
    expect(native.map(({ key }) => key)).toEqual(['realtime.httpServer'])
    expect(native[0]?.reason).toContain(why)
    const several = problemsOf({ file: https('ca', ', listeners: 2') }).problems
    expect(several.map(({ key }) => key)).toEqual(['realtime.listeners'])
    expect(several[0]?.reason).toContain(why)
    for (const more of ["'', minVersion: TLSv1.3", "'', ciphers: [ECDHE-RSA-AES128-SHA]"]) {
      const { problems } = problemsOf({ file: https(more, ', httpServer: native') })
      expect(problems.map(({ key }) => key)).toEqual(['realtime.httpServer'])
    }
    for (const more of ['', "'', ciphers: [ECDHE-RSA-AES128-GCM-SHA256]"]) {
      const file = https(more === '' ? "''" : more, ', httpServer: native, listeners: 2')
      expect(loadConfig({ file, env: {} }).realtime.tls.enabled).toBe(true)
    }
    expect(loadConfig({ file: https('ca'), env: {} }).realtime.tls.clientCaFile).toBe('ca')
  })

  it.each([
    ['realtime', '[HIGH]'],
    ['diameter', '[ECDHE-RSA-AES128-GCM-SHA265]'],
    ['admin', "['!aNULL']"],
    ['admin', '[PSK-AES128-GCM-SHA256]'],
    ['admin', '[ecdhe-rsa-aes128-gcm-sha256]'],
  ])('%s.tls.ciphers %s is refused by name', (section, list) => {
    const { problems } = problemsOf({ file: fileWith(`${section}: { tls: { ciphers: ${list} } }`) })
    expect(problems).toMatchObject([{ key: `${section}.tls.ciphers` }])
    expect(problems[0]?.reason).toContain('cipher suites by their OpenSSL names')
  })

  it.each(['TLSv1', 'TLSv1.1', 'SSLv3', 'x'])('%s is not a version of TLS', (version) => {
    const file = fileWith(`admin: { tls: { minVersion: ${version} } }`)
    expect(problemsOf({ file }).problems).toMatchObject([
      { key: 'admin.tls.minVersion', reason: expect.stringContaining('one of TLSv1.2, TLSv1.3') },
    ])
  })
})
