import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AUTH, checkAuthSettings } from '../../../src/catalog/settings/access/auth-settings.ts'
import { createLdap } from '../../../src/identity/protocols/ldap.ts'
import { createLogger } from '../../../src/runtime/log.ts'
import {
  addEntries,
  hasSlapd,
  SERVICE,
  SUFFIX,
  startSlapd,
} from '../../support/identity/protocols/slapd.ts'
import { useOpened } from '../../support/opened.ts'

type Fields = Record<string, unknown>

const PEOPLE = `ou=people,${SUFFIX}`
const ADMINS = `cn=Admins,ou=groups,${SUFFIX}`

/** A sealer that does not encrypt. */
const sealer = {
  open: (text: string) => (text.startsWith('sealed:') ? text.slice('sealed:'.length) : null),
}

function personEntry(uid: string, password: string, more: readonly string[] = []): string {
  return [
    `dn: uid=${uid},${PEOPLE}`,
    'objectClass: inetOrgPerson',
    `uid: ${uid}`,
    `cn: ${uid}`,
    'sn: x',
    `userPassword: ${password}`,
    ...more,
  ].join('\n')
}

const ENTRIES = [
  `dn: ${SUFFIX}\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example`,
  `dn: ${PEOPLE}\nobjectClass: organizationalUnit\nou: people`,
  `dn: ou=groups,${SUFFIX}\nobjectClass: organizationalUnit\nou: groups`,
  personEntry('ada', 'engine-1843', ['employeeType: Reader']),
  personEntry('bob', 'builder-99'),
  personEntry('Zoë', 'trema-2', ['employeeType: reader']),
  personEntry('twin1', 'same-pass', ['mail: twin@example.net']),
  personEntry('twin2', 'same-pass', ['mail: twin@example.net']),
  `dn: uid=o\\,brien,${PEOPLE}\nobjectClass: inetOrgPerson\nuid: o,brien\ncn: o\nsn: x
userPassword: comma-1\nemployeeType: reader`,
  personEntry('key', 'device-1', ['employeeType: reader']).replace('uid=key,', 'uid=key,uid=ada,'),
].join('\n\n')

const GROUP = `dn: ${ADMINS}\nobjectClass: groupOfNames\ncn: Admins\nmember: uid=ada,${PEOPLE}\n`

describe.skipIf(!hasSlapd)('login by LDAP (needs slapd and openssl)', () => {
  const slapd = useOpened(() => startSlapd(ENTRIES))
  beforeAll(() => {
    addEntries(slapd(), GROUP)
  })

  const service = { bind_dn: SERVICE.dn, bind_password: `sealed:${SERVICE.password}` }
  const directory = (more: Fields = {}): Fields => ({
    type: 'ldap',
    name: 'corp',
    url: slapd().url,
    base_dn: SUFFIX,
    ...service,
    ...more,
    roles: {
      map: [{ value: ADMINS.toUpperCase().replaceAll(',', ', '), roles: ['read', 'admin'] }],
      ...((more['roles'] as Fields | undefined) ?? {}),
    },
  })
  const byType = {
    roles: { attribute: 'employeeType', map: [{ value: 'reader', roles: ['read'] }] },
  }

  it('lets in users with the right password, with the roles of their groups', async () => {
    const { login } = ldapWith(directory())
    expect(await login('ada', 'engine-1843')).toEqual({
      user: { id: 'ldap:corp:ada', name: 'ada', roles: ['read', 'admin'] },
    })
  })

  it('refuses a wrong password, an unknown user, no password and a NUL', async () => {
    const { login } = ldapWith(directory())
    expect(await login('ada', 'engine-1844')).toBe('refused')
    expect(await login('eve', 'engine-1843')).toBe('refused')
    // This directory accepts a DN without a password as an anonymous bind.
    expect(await login('ada', '')).toBe('refused')
    expect(await login('', 'engine-1843')).toBe('refused')
    expect(await login('ada', 'engine-1843\0')).toBe('refused')
    expect(await login('ada\0', 'engine-1843')).toBe('refused')
  })

  it('has one name for a user, however it was typed', async () => {
    const { login } = ldapWith(directory())
    const user = { id: 'ldap:corp:ada', name: 'ada' }
    expect(await login('ADA', 'engine-1843')).toMatchObject({ user })
  })

  it('accepts one spelling of a name, except for case, for the count of failures', async () => {
    const { login } = ldapWith(directory())
    // The directory itself accepts all of them for ada (RFC 4518).
    for (const name of [' ada', 'ada ', '\uff41da', 'a\u00adda', 'a\ufe0fda', 'ada\t']) {
      expect(await login(name, 'engine-1843')).toBe('refused')
    }
  })

  it('searches for a name, not for a filter in it', async () => {
    const { login } = ldapWith(directory())
    for (const name of ['*', 'a*', '*)(uid=*', 'ada)(|(uid=*', 'ada)(cn=*))(|(uid=*', '\\61da']) {
      expect(await login(name, 'engine-1843')).toBe('refused')
    }
  })

  it('finds names beyond ASCII', async () => {
    expect(await ldapWith(directory(byType)).login('Zoë', 'trema-2')).toMatchObject({
      user: { name: 'Zoë', roles: ['read'] },
    })
  })

  it('names an entry by a template, in which a name stays a name', async () => {
    const template = {
      user_dn: `uid={username},${PEOPLE}`,
      base_dn: undefined,
      ...byType,
      bind_dn: undefined,
      bind_password: undefined,
    }
    const { login } = ldapWith(directory(template))
    expect(await login('ada', 'engine-1843')).toMatchObject({ user: { roles: ['read'] } })
    expect(await login('ada', 'wrong')).toBe('refused')
    expect(await login('o,brien', 'comma-1')).toMatchObject({ user: { name: 'o,brien' } })
    // Unescaped this would be the entry of ada, under another name.
    const name = `ada,${PEOPLE}+cn=x`
    expect(await login('key,uid=ada', 'device-1')).toBe('refused')
    for (const attack of [name, 'ada+cn=ada', 'ada,ou=x', '#616461', 'EXTERNAL']) {
      expect(await login(attack, 'engine-1843')).toBe('refused')
    }
  })

  it('refuses a login that matches two entries', async () => {
    const { login, logged } = ldapWith(directory({ user_filter: '(mail={username})', ...byType }))
    expect(await login('twin@example.net', 'same-pass')).toBe('refused')
    expect(logged()).toContain('more than one entry matches')
  })

  it('refuses a user without a role, unless there is a default role', async () => {
    expect(await ldapWith(directory()).login('bob', 'builder-99')).toBe('refused')
    const open = ldapWith(directory({ roles: { default: ['read'] } }))
    expect(await open.login('bob', 'builder-99')).toMatchObject({ user: { roles: ['read'] } })
  })

  it('searches the groups that name the user', async () => {
    const groups = { base_dn: `ou=groups,${SUFFIX}` }
    const { login } = ldapWith(directory({ roles: { attribute: 'cn', groups } }))
    expect(await login('ada', 'engine-1843')).toMatchObject({ user: { roles: ['read', 'admin'] } })
    expect(await login('bob', 'builder-99')).toBe('refused')
  })

  it('connects by TLS and by StartTLS to a directory whose authority is known', async () => {
    const { ca, url, urlTls } = slapd()
    const good = { user: { name: 'ada' } }
    const from = (more: Fields) => ldapWith(directory(more)).login('ada', 'engine-1843')
    expect(await from({ url: urlTls, ca })).toMatchObject(good)
    expect(await from({ url, start_tls: true, ca })).toMatchObject(good)
    // The certificate is for localhost.
    const byAddress = (text: string) => text.replace('localhost', '127.0.0.1')
    expect(await from({ url: byAddress(urlTls), ca })).toBe('unavailable')
    expect(await from({ url: byAddress(url), start_tls: true, ca })).toBe('unavailable')
  })

  it('sends no password to a directory of another authority', async () => {
    const other = await startSlapd(ENTRIES)
    try {
      for (const way of [{ url: slapd().urlTls }, { url: slapd().url, start_tls: true }]) {
        for (const trust of [{ ca: other.ca }, {}]) {
          const { login, logged } = ldapWith(directory({ ...way, ...trust }))
          expect(await login('ada', 'engine-1843')).toBe('unavailable')
          expect(logged()).toContain('an LDAP directory is unavailable')
        }
      }
    } finally {
      await other.close()
    }
  })

  it('asks all directories in order, or the one that is named', async () => {
    const away = directory({ name: 'away', url: 'ldap://127.0.0.1:1' })
    const { login } = ldapWith(away, directory())
    expect(await login('ada', 'engine-1843')).toMatchObject({ user: { id: 'ldap:corp:ada' } })
    expect(await login('ada', 'engine-1843', 'corp')).toMatchObject({ user: { name: 'ada' } })
    expect(await login('ada', 'engine-1843', 'away')).toBe('unavailable')
    expect(await login('ada', 'engine-1843', 'none')).toBe('refused')
    // A wrong password is not tried at the others while one directory is unavailable.
    expect(await login('ada', 'wrong')).toBe('refused')
    expect(await ldapWith().login('ada', 'engine-1843')).toBe('refused')
  })

  it('is unavailable if the service account is refused, or sealed by another key', async () => {
    const wrong = ldapWith(directory({ bind_password: 'sealed:not-it' }))
    expect(await wrong.login('ada', 'engine-1843')).toBe('unavailable')
    expect(wrong.logged()).toContain('the directory refuses bind_dn')
    const other = ldapWith(directory({ bind_password: 'of another key' }))
    expect(await other.login('ada', 'engine-1843')).toBe('unavailable')
    expect(other.logged()).toContain('sealed by another key')
    expect(wrong.logged() + other.logged()).not.toMatch(/not-it|engine-1843|of another/)
  })

  it('is unavailable when the directory has been killed', async () => {
    const mortal = await startSlapd(ENTRIES)
    try {
      const { login, logged } = ldapWith(directory({ url: mortal.url, ...byType }))
      expect(await login('ada', 'engine-1843')).toMatchObject({ user: { name: 'ada' } })
      await mortal.kill()
      expect(await login('ada', 'engine-1843')).toBe('unavailable')
      expect(logged()).not.toMatch(/engine-1843|s3cret/)
    } finally {
      await mortal.close()
    }
  })
})

describe('a directory that violates the protocol', () => {
  const settings = {
    type: 'ldap',
    name: 'odd',
    base_dn: SUFFIX,
    timeout_ms: 300,
    roles: { default: ['read'] },
  }
  const running: Server[] = []
  afterAll(() => {
    for (const server of running) server.close()
  })
  const serve = async (onSocket: (socket: Socket) => void) => {
    let open = 0
    const server = createServer((socket) => {
      open += 1
      socket
        .on('error', () => undefined)
        .on('close', () => {
          open -= 1
        })
      // The end of the connection is only seen by a reader.
      socket.resume()
      onSocket(socket)
    })
    running.push(server)
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as { port: number }
    return { url: `ldap://127.0.0.1:${port}`, open: () => open }
  }

  it('is unavailable in bounded time without an answer, and the connection ends', async () => {
    const mute = await serve(() => undefined)
    for (const way of [{}, { start_tls: true }]) {
      const { login } = ldapWith({ ...settings, ...way, url: mute.url })
      expect(await login('ada', 'engine-1843')).toBe('unavailable')
    }
    const tls = ldapWith({ ...settings, url: mute.url.replace('ldap:', 'ldaps:') })
    expect(await tls.login('ada', 'engine-1843')).toBe('unavailable')
    await expect.poll(mute.open).toBe(0)
  })

  it('receives no password when it stops during StartTLS', async () => {
    const heard: Buffer[] = []
    const half = await serve((socket) => {
      socket.on('data', (data: Buffer) => {
        heard.push(data)
        // Success, for the message id of the request (RFC 4511 section 4.14).
        const id = data[4] ?? 0
        const success = [0x0a, 1, 0, 4, 0, 4, 0]
        if (heard.length === 1) {
          socket.write(Buffer.from([0x30, 12, 2, 1, id, 0x78, success.length, ...success]))
        }
      })
    })
    const { login } = ldapWith({ ...settings, start_tls: true, url: half.url })
    expect(await login('ada', 'engine-1843')).toBe('unavailable')
    // The client has requested TLS, and begun the handshake.
    expect(heard.length).toBeGreaterThan(1)
    expect(Buffer.concat(heard).toString('latin1')).not.toMatch(/engine-1843|ada/)
    await expect.poll(half.open).toBe(0)
  })

  it('is unavailable when it answers with another protocol than LDAP', async () => {
    const http = await serve((socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'))
    const { login } = ldapWith({ ...settings, url: http.url })
    expect(await login('ada', 'engine-1843')).toBe('unavailable')
  })
})

/** With settings as they would be stored; the log is collected. */
function ldapWith(...protocols: Fields[]) {
  const checked = checkAuthSettings(JSON.parse(JSON.stringify({ protocols })))
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const log = createLogger({ name: 'test', level: 'trace', destination })
  const settings = { get: async () => AUTH.read(checked) as never }
  const ldap = createLdap({ settings, log, sealer })
  return {
    login: (username: string, password: string, provider?: string) =>
      ldap.login(username, password, provider),
    logged: () => lines.join(''),
  }
}
