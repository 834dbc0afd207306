/** Markets and their limits as people name them. */
const MARKETS: Record<string, string> = {
  FCR: 'FCR',
  AFRR: 'aFRR capacity',
  DAY_AHEAD: 'Day-ahead',
  IDA1: 'Intraday auction 1',
  IDA2: 'Intraday auction 2',
  IDA3: 'Intraday auction 3',
  CONTINUOUS: 'Continuous',
  AFRR_ENERGY: 'aFRR energy',
  OTHER: 'Over the counter',
}
export const stageInWords = (stage: string): string => MARKETS[stage] ?? stage

const LIMITS: Record<string, string> = {
  POWER: 'rated power',
  ENERGY: 'what is in store',
  CYCLES: 'the day’s cycles',
  RESERVE: 'what is held for reserve',
  RAMP: 'how fast power may change',
  AVAILABILITY: 'an outage',
  GATE: 'a closed gate',
}
export const limitInWords = (limit: string): string => LIMITS[limit] ?? limit.toLowerCase().replaceAll('_', ' ')

const STATES: Record<string, string> = {
  STANDING: 'stands',
  OVERDUE: 'waits for its result',
  EXECUTED: 'executed',
  PARTLY_EXECUTED: 'partly executed',
  NOT_EXECUTED: 'not executed',
}
export const stateInWords = (status: string): string => STATES[status] ?? status.toLowerCase()
