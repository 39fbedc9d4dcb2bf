/** Queries that are issued one by one and answered together. */

/** Answers in the order of the queries; an error in place of an answer rejects that query only. */
type AnswerAll<Question, Answer> = (
  questions: readonly Question[],
) => Promise<readonly (Answer | Error)[]>

interface PendingQuery<Question, Answer> {
  question: Question
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
}

/**
 * Collects the queries of one turn of the event loop, up to `countMax` per call. Each query rejects
 * by itself, or with the call.
 */
export function batched<Question, Answer>(
  answerAll: AnswerAll<Question, Answer>,
  countMax: number,
): (question: Question) => Promise<Answer> {
  let waiting: PendingQuery<Question, Answer>[] = []
  const flush = () => {
    const all = waiting
    waiting = []
    for (let from = 0; from < all.length; from += countMax) {
      void answer(answerAll, all.slice(from, from + countMax))
    }
  }
  return (question) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(flush)
      waiting.push({ question, resolve, reject })
    })
}

async function answer<Question, Answer>(
  answerAll: AnswerAll<Question, Answer>,
  pending: readonly PendingQuery<Question, Answer>[],
): Promise<void> {
  try {
    const answers = await answerAll(pending.map(({ question }) => question))
    for (const [index, { resolve, reject }] of pending.entries()) {
      const found = answers[index] as Answer | Error
      if (found instanceof Error) reject(found)
      else resolve(found)
    }
  } catch (error) {
    for (const { reject } of pending) reject(error)
  }
}
