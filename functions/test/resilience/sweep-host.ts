import { startSchedules } from '../../../local/server/schedules';
import { sweepPriceLists } from '../../src/index';

/** A process of its own that calls the scheduled sweep, at an interval that its parent gives as `SWEEP_INTERVAL_MS`. */
startSchedules([sweepPriceLists], Number(process.env['SWEEP_INTERVAL_MS']));
process.once('disconnect', () => process.exit());
