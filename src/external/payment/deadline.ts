import { GatewayUnansweredError } from './gateway.ts'

/** The result of the call, or `GatewayUnansweredError` after the limit. */
export async function withinLimit<T>(limitMs: number, call: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new GatewayUnansweredError(`the gateway has not answered within ${limitMs} ms`))
    }, limitMs)
  })
  try {
    return await Promise.race([call(), late])
  } finally {
    clearTimeout(timer)
  }
}
