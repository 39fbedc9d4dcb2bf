/** A thousand logins that never complete, on an admin with default settings. */
import { describe, expect, it } from 'vitest'
import { startClosedAdmin } from '../support/identity/closed-admin.ts'
import { useMade, useOpened } from '../support/opened.ts'
import { openSocket } from '../support/realtime/http/socket.ts'

const USER = 'ops@example.org'
const PASSWORD = 'correct horse battery'
const FORM = 'Content-Type: application/x-www-form-urlencoded\r\n'
const HEAD = 'Host: 127.0.0.1\r\n'
const SLOW = `POST /auth/login HTTP/1.1\r\n${HEAD}${FORM}Content-Length: 99\r\n\r\nusername=`
const admin = useOpened(startClosedAdmin)
const cookie = useMade(async () => {
  await admin().addUser(USER, PASSWORD, ['read'])
  return admin().cookieOf(USER, PASSWORD)
})

/** One request on its own connection; the status of its answer. */
async function ask(text: string, localAddress = '127.0.0.1'): Promise<number | undefined> {
  const socket = openSocket(admin().port, localAddress)
  await socket.send(text)
  const answer = await socket.answer()
  socket.destroy()
  return answer?.status
}

describe('a thousand slow logins from one address', () => {
  it('leave health and metrics available to everybody, and logins to other addresses', async () => {
    const slow = Array.from({ length: 1_000 }, () => openSocket(admin().port))
    for (const socket of slow) await socket.send(SLOW)
    const session = `Cookie: ${cookie()}\r\n`
    for (const from of ['127.0.0.1', '127.0.0.2']) {
      for (const path of ['/health/live', '/health/ready', '/metrics']) {
        const status = await ask(`GET ${path} HTTP/1.1\r\n${HEAD}${session}\r\n`, from)
        expect([from, path, status]).toEqual([from, path, path === '/health/ready' ? status : 200])
        expect([200, 503]).toContain(status)
      }
    }
    const body = new URLSearchParams({ username: USER, password: PASSWORD }).toString()
    const head = `POST /auth/login HTTP/1.1\r\n${HEAD}${FORM}`
    const login = `${head}Content-Length: ${body.length}\r\n\r\n${body}`
    expect(await ask(login)).toBe(429)
    expect(await ask(login, '127.0.0.2')).toBe(200)
    for (const socket of slow) socket.destroy()
    await expect.poll(() => ask(login)).toBe(200)
  })
})
