import { expect, it } from 'vitest'
import { ListenError } from '../../src/realtime/http/listening.ts'
import { openPorts } from '../../src/realtime/port-handover.ts'

const taken = () => new ListenError({ host: '127.0.0.1', port: 8181 }, 'the port is in use')

it('retries on ports of a process that has just ended', async () => {
  let tries = 0
  const open = async () => {
    tries += 1
    if (tries < 4) throw taken()
    return 'open'
  }
  expect(await openPorts(true, open)).toBe('open')
  expect(tries).toBe(4)
})

it('does not retry on ports of other programs, nor on other errors', async () => {
  let tries = 0
  const refuse = async (error: Error) => {
    tries += 1
    throw error
  }
  await expect(openPorts(false, () => refuse(taken()))).rejects.toThrow('in use')
  await expect(openPorts(true, () => refuse(new Error('a defect')))).rejects.toThrow('a defect')
  expect(tries).toBe(2)
})
