/** Questions that are asked one by one and answered together. */

/** Answers in the order of the questions; what has none because of itself has an error there. */
type AnswerAll<Question, Answer> = (
  questions: readonly Question[],
) => Promise<readonly (Answer | Error)[]>

interface PendingQuery<Question, Answer> {
  question: Question
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
}

/**
 * Gathers what is asked within one turn of the event loop, up to `countMax` questions, so that one
 * call answers all of them. Each question rejects by itself, or with the call.
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
  asked: readonly PendingQuery<Question, Answer>[],
): Promise<void> {
  try {
    const answers = await answerAll(asked.map(({ question }) => question))
    for (const [index, { resolve, reject }] of asked.entries()) {
      const found = answers[index] as Answer | Error
      if (found instanceof Error) reject(found)
      else resolve(found)
    }
  } catch (error) {
    for (const { reject } of asked) reject(error)
  }
}
