import { expect, it } from 'vitest'
import { createAdmission } from '../../src/realtime/admission.ts'

it('admits as many as there are slots', () => {
  const admission = createAdmission(2)
  expect([admission.enter(), admission.enter(), admission.enter()]).toEqual([true, true, false])
  expect(admission.inFlight).toBe(2)
  admission.leave()
  expect(admission.enter()).toBe(true)
})

it('closes when the last one has left, and admits nobody meanwhile', async () => {
  const admission = createAdmission(2)
  admission.enter()
  let isClosed = false
  const closed = admission.close().then(() => {
    isClosed = true
  })
  expect(admission.enter()).toBe(false)
  await Promise.resolve()
  expect(isClosed).toBe(false)
  admission.leave()
  await closed
  await createAdmission(1).close()
})

it('does not take back a slot twice', () => {
  const admission = createAdmission(2)
  expect(() => admission.leave()).toThrow('a slot is given back once')
})
